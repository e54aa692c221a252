"""The base of every error that a user can do something about."""


class UserError(Exception):
    """Its message is one plain sentence that says what to do; it is shown as it is, without a traceback."""
