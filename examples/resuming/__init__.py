"""The sign-up agent, made durable: it may be killed anywhere, and goes on where it was."""
