"""What schema/ says: tables, views, the rules of the findings, and what is worked out from them."""
