"""What may be said: the messages of a ledger, and every shape that is projected from them or sent to a model.

Frozen models and closed vocabularies; nothing here reads a file, a clock or a frame. What is said with a value that
the protocol does not know is refused, with the nearest one that it does.

:mod:`ledgerkit.protocol.names` has all public names in one place. This package imports none of them, so that whoever
needs only a vocabulary does not pay for every model.
"""
