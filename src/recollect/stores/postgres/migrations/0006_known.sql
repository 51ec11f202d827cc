-- What a scope knew after a commit is read by what changed since an earlier one, however much came after both.
CREATE INDEX versions_by_scope ON versions (root, scope, changed);
