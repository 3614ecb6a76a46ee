"""Abstention in simulated worlds: is the promise kept, and how much is kept back?"""
