"""One small module per interface: a conversation and a toolbox in, the body of a request out."""
