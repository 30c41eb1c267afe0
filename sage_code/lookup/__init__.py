"""What is here: a definition, a file's outline, a map of the project, code like this?"""
