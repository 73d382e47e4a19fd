"""Documents, pictures and recordings as text that an agent can read. It happens in a worker, never in the main process.

Nothing is imported here: workers start fast, and the libraries that read PDF and spreadsheets are an extra.
"""
