"""What every test runs under: hypothesis without deadlines (the machine is shared) and with fixed examples.

``pytest --hypothesis-profile=search`` draws new examples, many more of them.
"""

from hypothesis import settings

settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=50, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("fixed")
