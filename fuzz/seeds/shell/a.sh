cd src && FOO=bar sudo git -C x push --force origin main | tee log; npm ci || exit 1
cat <<EOF > a
$(ls)
EOF
for f in *.py; do rm "$f"; done & kubectl apply -f x.yml 2>&1
