"""Which definitions does a reference mean, what calls what, and what could a change break?"""
