"""The SMTP server that takes all mail."""
