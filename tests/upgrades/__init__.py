"""Stores, exports and backups of earlier versions, and tests that this version reads them."""
