"""What the parts of an address give away: tables of words in paths and of names in queries."""

from __future__ import annotations

import re

__all__ = ["ASIDE", "FILE_NAME", "GOING_ON", "SHORT_TOKEN", "TOKEN_KEYS"]

# Words in a path that belong to going on.
GOING_ON = frozenset(
    {"acceder", "accedi", "accept", "acceso", "accesso", "acesso", "action", "activacao",
     "activacion", "activar", "activare", "activate", "activation", "activeaza", "activer",
     "activeren", "aktivace", "aktivacia", "aktivacija", "aktivacio", "aktivaciya", "aktivalas",
     "aktivalom", "aktivasi", "aktivasyon", "aktiver", "aktivera", "aktivering", "aktivieren",
     "aktivierung", "aktiviraj", "aktiviser", "aktivoi", "aktyvatsiya", "aktyvuoti", "aktywacja",
     "aktywuj", "anmelden", "anmeldung", "approve", "apstiprinat", "ativacao", "ativar", "attiva",
     "attivazione", "autentificare", "auth", "authenticate", "authorise", "authorize", "bekraeft",
     "bekraeftelse", "bekrafta", "bekraftelse", "bekreft", "bekrefte", "bekreftelse", "belepes",
     "bestaetigen", "bestaetigung", "bestatigen", "bevestig", "bevestigen", "callback", "claim",
     "conferma", "confirm", "confirmacao", "confirmacio", "confirmacion", "confirmar",
     "confirmare", "confirmation", "confirmemail", "confirmer", "connexion", "contrasena",
     "convalida", "convite", "dangnhap", "davet", "dogrula", "dogrulama", "doi", "einladung",
     "einloggen", "ellenorzes", "enter", "entrar", "etkinlestir", "freischalten", "giris",
     "haslo", "heslo", "inloggen", "invitacion", "invitatie", "invitation", "invite", "invites",
     "invito", "join", "kichhoat", "kinnita", "kinnitus", "kirjaudu", "konfirmasi", "kutsu",
     "login", "logon", "logowanie", "magic", "magiclink", "masuk", "megerosites", "meghivo",
     "onayla", "onaylama", "onboarding", "oob", "opt", "optin", "otl", "ott", "overeni",
     "overenie", "overit", "password", "passwordreset", "passwords", "passwort", "patvirtinimas",
     "patvirtinti", "pengesahan", "pidtverdzhennya", "podtverdit", "podtverzhdenie",
     "potvarzhdenie", "potvrda", "potvrdenie", "potvrdi", "potvrdit", "potvrditev", "potvrzeni",
     "potwierdz", "potwierdzam", "potwierdzenie", "pozivnica", "pozvanka", "prihlaseni",
     "prihlasenie", "prihlasit", "prijava", "redefinir", "register", "registration", "reimposta",
     "reinitialiser", "rejestracja", "reset", "resetpassword", "restablecer", "sahkan",
     "salasana", "senha", "session", "signin", "signon", "signup", "subscribe", "token",
     "uaktywnij", "undangan", "unlock", "vahvista", "vahvistaminen", "vahvistus", "validacao",
     "validacion", "validate", "validation", "validazione", "valider", "verifica", "verificacao",
     "verificacio", "verificacion", "verificar", "verificare", "verification", "verified",
     "verifiera", "verifikasi", "verifikasikan", "verifikation", "verifizieren", "verify",
     "verifyemail", "vhod", "wachtwoord", "weryfikacja", "xacminh", "xacnhan", "zaloguj",
     "zaproszenie", "zuruecksetzen", "zweryfikuj"}
)  # fmt: skip

# Words in a path that lead elsewhere.
ASIDE = frozenset(
    {"abbestellen", "ablehnen", "abmelden", "about", "abuse", "actividad", "activity", "ads",
     "advert", "afmeld", "afmelden", "afvis", "agb", "aide", "aiuto", "ajuda", "aktivitaet",
     "alerts", "anmal", "annuler", "annuleren", "annulla", "anular", "anuleaza", "anuluj", "apps",
     "appstore", "article", "articles", "austragen", "avanmal", "avboj", "avbryt", "avmeld",
     "avregistrera", "avvis", "ayuda", "baja", "baocao", "batal", "batalkan", "bejelentes",
     "berhenti", "bestellung", "bildir", "billing", "blocca", "block", "blog", "bloquear",
     "bloquer", "borrar", "browser", "cancel", "cancelar", "careers", "cart", "cgu", "cgv",
     "commande", "complaint", "complaints", "condiciones", "condizioni", "confidentialite",
     "contact", "contacto", "cookies", "datenschutz", "decline", "delete", "denunciar", "deny",
     "desabonnement", "desabonner", "descadastrar", "desinscription", "desinscrire",
     "desvincular", "detach", "dezabonare", "disavow", "disconnect", "disconosci", "disiscriviti",
     "dismiss", "disown", "dispute", "dissocier", "docs", "documentation", "dsgvo", "ehdot",
     "elimina", "eliminar", "eltavolit", "elutasit", "entfernen", "excluir", "facebook", "faq",
     "faqs", "feedback", "fjern", "follow", "frameld", "fraud", "freeze", "gdpr", "gizlilik",
     "guide", "hapus", "help", "henti", "hilfe", "hulp", "huy", "hylkaa", "ilmoita", "impressum",
     "imprint", "incident", "instagram", "invoice", "iptal", "jobs", "kaldir", "kb", "kontakt",
     "laporkan", "learn", "legal", "leiratkozas", "linkedin", "listunsubscribe", "loeschen",
     "logout", "melden", "meldfra", "mirror", "mistake", "nahlasit", "napoveda", "news",
     "notifications", "notme", "notmine", "notyou", "odbij", "odhlasit", "odjava", "odjavi",
     "odmietnut", "odmitnout", "odrzuc", "odstranit", "online", "optout", "order", "orders",
     "otkaz", "otkazi", "otmena", "otpisatsya", "otpisi", "otpiska", "padam", "pedido", "peruuta",
     "phishing", "podpora", "poista", "policies", "policy", "pomoc", "pozhalovatsya",
     "preferences", "prefs", "preklici", "premahni", "press", "pricing", "privacidad",
     "privacidade", "privacy", "product", "products", "promo", "quitar", "raporteaza",
     "rapporter", "rapportera", "receipt", "rechazar", "recusar", "reddet", "refuser", "refuza",
     "regulamin", "reject", "removal", "remove", "removed", "remover", "report", "reportar",
     "retirer", "revert", "revoke", "rezygnacja", "rgpd", "rifiuta", "rimuovi", "rollback",
     "rules", "security-tips", "segnala", "settings", "share", "shop", "signaler", "signout",
     "skasuvaty", "slet", "slett", "social", "spam", "sperren", "status", "sterge", "store",
     "stornieren", "sugo", "support", "supprimer", "survey", "suspicious", "termos", "terms",
     "tietosuoja", "tiktok", "tolak", "torles", "torol", "tos", "track", "tracking", "tuchoi",
     "twitter", "udalit", "uitschrijven", "ukloni", "undo", "unlink", "unsub", "unsubscribe",
     "unsubscribed", "usun", "verwijderen", "vidpysatysya", "view", "vilkar", "villkor",
     "visszajelzes", "voorwaarden", "wasnt", "wasntme", "webview", "weigeren", "why", "widerruf",
     "widerrufen", "withdraw", "wypisz", "xoa", "yardim", "youtube", "zavrni", "zglos", "zhaloba",
     "zrusit"}
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
