"""The databases behind the tiers: one protocol, SQLite for one user, PostgreSQL for a team."""
