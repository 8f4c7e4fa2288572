"""One file for each target: a table over the operators' names, and the text around it."""
