"""What a team knows together: one PostgreSQL database with everybody's rights, and a replica that works offline."""
