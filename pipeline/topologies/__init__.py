"""Who is started, who holds whose handle, and what becomes of them; decisions without Dask in `.supervision`."""
