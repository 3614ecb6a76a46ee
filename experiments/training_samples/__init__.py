"""Can a head be fitted on the samples that the network was trained on?"""
