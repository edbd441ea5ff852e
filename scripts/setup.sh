#!/bin/sh
# Sets Total Recall up for this user; shows what it will do and asks first (--yes answers, --dry-run only shows).
here=${0%/*}
[ "$here" != "$0" ] || here=.
exec /bin/sh "$here/total-recall" setup "$@"
