"""Mail providers: where a signal's question is asked."""
