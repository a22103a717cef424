"""PyTorch: the audit's side of it, found through sys.modules once torch has been imported."""
