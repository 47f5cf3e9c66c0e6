"""Platform descriptions: elements, their grammar, and their XML form."""
