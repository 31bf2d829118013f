"""Log formats: one module per format, records in, drafts out. Importers know nothing of each other."""
