#!/bin/sh
# After the package was installed or removed: what journalctl -x explains is compiled anew. A system without a journal
# needs none of it.
if command -v journalctl >/dev/null 2>&1; then journalctl --update-catalog || :; fi
