# A package of code that Situ generated.
