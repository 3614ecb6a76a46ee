"""Heads after a shipped recogniser of 6,623 characters, on fonts that it was not made for."""
