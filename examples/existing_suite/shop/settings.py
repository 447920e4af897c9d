SECRET_KEY = "only for the example"
ALLOWED_HOSTS = ["testserver", "localhost"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}}
DEFAULT_FROM_EMAIL = "Example Shop <no-reply@shop.example>"
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend"}}
USE_TZ = True
