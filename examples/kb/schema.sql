-- The token of the process that may write: see store.fence.
CREATE TABLE IF NOT EXISTS writer (token INTEGER NOT NULL);

-- Umlauts and accents are found with and without.
CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5(title, text, tokenize = 'unicode61 remove_diacritics 2');
