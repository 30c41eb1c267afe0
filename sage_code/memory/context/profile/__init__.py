"""What is lastingly true of a person, found in what that person says; nothing here knows a database."""
