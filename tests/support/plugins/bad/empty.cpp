// For plugins whose manifest is all there is to them.
