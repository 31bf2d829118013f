"""What keeps hostile or private content from doing harm on its way out of a ledger."""
