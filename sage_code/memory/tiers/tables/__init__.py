"""What is stored: one module a table, with SQL that every engine understands."""
