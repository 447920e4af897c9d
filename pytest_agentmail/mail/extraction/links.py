from __future__ import annotations
def find_links(subject, sender, html, text):
    return ()
