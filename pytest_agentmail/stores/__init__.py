"""Where state is kept: in memory, in SQLite, in PostgreSQL."""
