"""The validators: each looks at a case for one way in which an environment can be wrong."""
