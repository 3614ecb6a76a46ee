"""The check: is a head that was shipped still good on new samples, and do these look like those it was fitted on?"""
