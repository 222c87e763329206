"""What tokens cost, each kind in prices of an input token."""

WRITE, READ, OUTPUT = 1.25, 0.1, 5.0
"""Prices of a cache write, a cache read and an output token, in those of an input token.

Source: price list of Claude models; the shares are alike for those of 3 and 4.
"""
