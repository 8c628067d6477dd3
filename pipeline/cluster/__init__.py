"""Hosts of a run behind one client: found or started, asked, offered to a placement.

The only package here that knows Dask.
"""
