"""Small documents that tests make: good ones, and bad ones of each kind."""
