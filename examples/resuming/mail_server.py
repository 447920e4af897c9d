"""A mail server that outlives the agent: it keeps mail as files, and prints its port.

Usage: python mail_server.py FOLDER
"""

import asyncio
import mailbox
import sys
from pathlib import Path

from aiosmtpd.smtp import SMTP


class Keeping:
    """Stores each mail in a Maildir for each of its recipients, then answers."""

    def __init__(self, root):
        self._root = Path(root)

    async def handle_DATA(self, server, session, envelope):  # noqa: ARG002, N802 (aiosmtpd's)
        for recipient in envelope.rcpt_tos:
            mailbox.Maildir(self._root / recipient).add(envelope.content)
        return "250 OK"


async def main(root):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Keeping(root)), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    asyncio.run(main(sys.argv[1]))
