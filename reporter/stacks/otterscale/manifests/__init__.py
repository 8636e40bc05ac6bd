"""What OtterScale's operator creates for a ModelService, and what it deletes.

One module for each section of the OtterScale sheet, 2.1 to 2.11 and 3; `wanted` puts them together.
"""
