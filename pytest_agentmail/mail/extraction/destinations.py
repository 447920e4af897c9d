"""What the parts of an address give away: tables of words in paths and of names in queries."""

from __future__ import annotations

import re

__all__ = ["ASIDE", "FILE_NAME", "GOING_ON", "SHORT_TOKEN", "TOKEN_KEYS"]

# Words in a path that belong to going on.
GOING_ON = frozenset(
    {"accept", "action", "activar", "activare", "activate", "activation", "activer", "activeren",
     "aktivieren", "aktywuj", "anmelden", "ativar", "attiva", "auth", "authenticate", "bekraeft",
     "bekrafta", "bekreft", "bestaetigen", "bestaetigung", "bestatigen", "bevestig",
     "bevestigen", "callback", "claim", "conferma", "confirm", "confirmacion", "confirmar",
     "confirmare", "confirmation", "confirmemail", "confirmer", "dogrula", "doi", "enter",
     "freischalten", "invitation", "invite", "invites", "join", "login", "logon", "magic",
     "magiclink", "megerosites", "onayla", "onboarding", "oob", "opt", "optin", "otl", "ott",
     "overit", "password", "passwords", "potvrdit", "potwierdz", "register", "registration",
     "reset", "session", "signin", "signup", "subscribe", "token", "unlock", "vahvista",
     "validate", "validation", "valider", "verifica", "verificacion", "verificar",
     "verification", "verified", "verifizieren", "verify", "verifyemail"}
)  # fmt: skip

# Words in a path that lead elsewhere.
ASIDE = frozenset(
    {"abbestellen", "abmelden", "about", "abuse", "ads", "advert", "agb", "aide", "aiuto",
     "ajuda", "apps", "appstore", "article", "articles", "ayuda", "baja", "bestellung",
     "billing", "blog", "browser", "cancel", "careers", "cart", "cgu", "cgv", "commande",
     "condiciones", "condizioni", "confidentialite", "contact", "contacto", "cookies",
     "datenschutz", "decline", "deny", "desabonner", "desinscription", "docs", "documentation",
     "dsgvo", "ehdot", "facebook", "faq", "faqs", "feedback", "follow", "gdpr", "gizlilik",
     "guide", "help", "hilfe", "hulp", "impressum", "imprint", "instagram", "invoice", "jobs",
     "kb", "kontakt", "learn", "legal", "linkedin", "mirror", "napoveda", "news",
     "notifications", "notme", "online", "optout", "order", "orders", "pedido", "podpora",
     "policies", "policy", "pomoc", "preferences", "prefs", "press", "pricing", "privacidad",
     "privacidade", "privacy", "product", "products", "promo", "receipt", "regulamin", "reject",
     "report", "revoke", "rgpd", "rules", "security-tips", "settings", "share", "shop", "social",
     "status", "store", "sugo", "support", "survey", "termos", "terms", "tietosuoja", "tiktok",
     "tos", "track", "tracking", "twitter", "unsub", "unsubscribe", "view", "vilkar", "villkor",
     "visszajelzes", "voorwaarden", "webview", "why", "yardim", "youtube"}
)  # fmt: skip

# Names of what a person cannot make up.
TOKEN_KEYS = re.compile(
    r"(?:.*[_-])?(?:token|key|code|oobcode|hash|sig|signature|ticket|otp|secret|nonce|ott|jwt"
    r"|verification|confirmation|activation|magic|invite|invitation|t|k|c|h|uid|s|auth|tk|pin)"
    r"(?:[_-].*)?|.*token|.*code|.*key",
    re.IGNORECASE,
)
SHORT_TOKEN = re.compile(r"[A-Za-z]\w*\d|\d\w*[A-Za-z]|\d{5}")
FILE_NAME = re.compile(
    r"\.(?:png|jpe?g|gif|svg|css|js|ico|webp|woff2?|pdf|ics|zip|mp4|dtd)$", re.IGNORECASE
)
