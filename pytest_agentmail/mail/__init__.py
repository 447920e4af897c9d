"""Mail: addresses, messages, the mailboxes leased to runs, and the sink that receives."""
