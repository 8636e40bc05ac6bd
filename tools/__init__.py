"""What runs while the program is made, and is not in the package."""
