"""Tables on a terminal, for commands and for objects that print themselves."""
