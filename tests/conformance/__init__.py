"""Every function, operator and aggregate of the language, over hard values, in every way that can evaluate it: each
gives what its Python definition gives, the value, its type, or an error."""
