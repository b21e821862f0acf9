package readonly

// common are the options that most programs have.
const common = " --help --version"

// grepOptions are grep's.
const grepOptions = "-abcEFGhHiIlLnoPqrsTUvVwxyzZ -R! -A: -B: -C: -e: -m: -d: -D: -f@ -# --ignore-case --no-ignore-case --invert-match " +
	"--word-regexp --line-regexp --count --color? --colour? --files-with-matches --files-without-match --max-count= --only-matching " +
	"--quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= --line-number --initial-tab --null " +
	"--after-context= --before-context= --context= --text --binary-files= --binary --include= --exclude= --exclude-dir= --recursive " +
	"--dereference-recursive! --line-buffered --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp= --file@" + common

const sumOptions = "-btz --binary --text --tag --zero" + common

// models are the commands that a table of options describes: a list and not a map,
// so that a start that judges nothing does not build it.
var models = []struct {
	name string
	model
}{
	{"cat", model{options: "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting" + common, kind: files, tame: true}},
	{"head", model{options: "-qvz -n: -c: -# --lines= --bytes= --quiet --silent --verbose --zero-terminated" + common, kind: files, tame: true}},
	{"tail", model{options: "-fFqrvz -n: -c: -s: -# --lines= --bytes= --quiet --silent --verbose --follow? --retry --pid= --sleep-interval= --zero-terminated" + common, kind: files, tame: true}},
	{"tac", model{options: "-br -s: --before --regex --separator=" + common, kind: files, tame: true}},
	{"nl", model{options: "-b: -d: -f: -h: -i: -l: -n: -s: -v: -w: -p" + common, kind: files, tame: true}},
	{"rev", model{options: "-hV", kind: files, tame: true}},
	{"less", model{options: "-NSRFXEinIMmeg -#", kind: files, first: true}},
	{"more", model{options: "-dlfpcsu -#", kind: files, first: true}},

	{"grep", model{options: grepOptions, kind: pattern}},
	{"egrep", model{options: grepOptions, kind: pattern}},
	{"fgrep", model{options: grepOptions, kind: pattern}},
	{"rg", model{options: "-abcFHhiIlnNopPqsSUuvVwx0. -A: -B: -C: -E: -e: -f@ -g: -j: -m: -M: -r: -t: -T: -d: --after-context= --before-context= --context= " +
		"--case-sensitive --color= --colors= --column --no-column --count --count-matches --crlf --debug --encoding= --engine= --file@ --files " +
		"--files-with-matches --files-without-match --fixed-strings --glob= --iglob= --glob-case-insensitive --heading --no-heading --hidden " +
		"--no-hidden --ignore-case --include-zero --invert-match --json --line-buffered --line-number --no-line-number --line-regexp " +
		"--max-columns= --max-count= --max-depth= --max-filesize= --multiline --multiline-dotall --no-config --no-filename --no-ignore " +
		"--no-ignore-vcs --no-ignore-parent --no-ignore-global --no-messages --null --null-data --one-file-system --only-matching --passthru " +
		"--pcre2 --pretty --quiet --regexp= --replace= --smart-case --sort= --sortr= --stats --text --threads= --trim --type= --type-not= " +
		"--type-list --unrestricted --vimgrep --with-filename --word-regexp --no-follow" + common, kind: pattern}},
	{"ag", model{options: "-acFgHilLnoQsSuvVw0 -A: -B: -C: -G: -m: --count --nocolor --nogroup --hidden --ignore= --depth= --column --literal --vimgrep --files-with-matches", kind: pattern}},

	{"ls", model{raw: true}},
	{"stat", model{raw: true}},
	{"df", model{raw: true}},
	{"tree", model{options: "-adfiqNQpugsDFvtcUrCnxJX -L% -I% -P% --noreport --dirsfirst --filelimit= --charset= --gitignore --prune --du --si --inodes --device --sort? --matchdirs --ignore-case" + common, kind: names}},
	{"du", model{options: "-0abcDhHklLmPsSx -d: -t: -B: --apparent-size --bytes --total --human-readable --max-depth= --summarize --all --exclude= --one-file-system --si --threshold= --time? --time-style= --block-size= --separate-dirs" + common, kind: names}},
	{"realpath", model{options: "-eLmPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip --no-symlinks --zero --relative-to= --relative-base=" + common, kind: names, tame: true}},
	{"readlink", model{options: "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero" + common, kind: names, tame: true}},
	{"file", model{options: "-bhikLNnrv0I -F: --brief --mime --mime-type --mime-encoding --dereference --no-dereference --separator= --keep-going --extension" + common, kind: files}},

	{"wc", model{options: "-clmLw --bytes --chars --lines --max-line-length --words --total=" + common, kind: files}},
	{"cut", model{options: "-nsz -b: -c: -d: -f: --bytes= --characters= --delimiter= --fields= --only-delimited --complement --output-delimiter= --zero-terminated" + common, kind: files, tame: true}},
	{"tr", model{options: "-cCdst --complement --delete --squeeze-repeats --truncate-set1" + common, kind: text, tame: true}},
	{"fold", model{options: "-bs -w: -# --bytes --spaces --width=" + common, kind: files, tame: true}},
	{"expand", model{options: "-i -t: --initial --tabs=" + common, kind: files, tame: true}},
	{"unexpand", model{options: "-a -t: --all --first-only --tabs=" + common, kind: files, tame: true}},
	{"paste", model{options: "-sz -d: --serial --delimiters= --zero-terminated" + common, kind: files, tame: true}},
	{"column", model{options: "-txne -s: -o: -c: -N: -R: -H: --table --separator= --output-separator= --fillrows", kind: files}},
	{"comm", model{options: "-123iz --check-order --nocheck-order --output-delimiter= --total --zero-terminated" + common, kind: files, tame: true}},
	{"cmp", model{options: "-bls -i: -n: --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent" + common, kind: files, tame: true}},
	{"diff", model{options: "-abBcdeEinNpqstTuwyZ -r! -U: -C: -W: -I: -x: -F: -# --brief --report-identical-files --unified? --context? --color? --ignore-case " +
		"--ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --recursive! --new-file --side-by-side --width= " +
		"--suppress-common-lines --text --exclude= --minimal --label= --strip-trailing-cr --no-dereference" + common, kind: files, walks: true}},
	{"join", model{options: "-iz -1: -2: -a: -e: -j: -o: -t: -v: --ignore-case --header --check-order --nocheck-order" + common, kind: files}},
	{"uniq", model{options: "-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --ignore-case --unique --skip-fields= --skip-chars= --check-chars= --group?" + common, kind: files, most: 1}},
	{"sort", model{options: "-bcCdfghiMmnrRsuVz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort " +
		"--ignore-nonprinting --month-sort --numeric-sort --random-sort --reverse --version-sort --sort= --check? --debug --key= --merge --stable " +
		"--buffer-size= --field-separator= --unique --zero-terminated --parallel= --batch-size=" + common, kind: files}},
	{"md5sum", model{options: sumOptions, kind: files, tame: true}},
	{"sha1sum", model{options: sumOptions, kind: files, tame: true}},
	{"sha256sum", model{options: sumOptions, kind: files, tame: true}},
	{"sha512sum", model{options: sumOptions, kind: files, tame: true}},
	{"b2sum", model{options: sumOptions, kind: files, tame: true}},
	{"sha384sum", model{options: sumOptions, kind: files, tame: true}},
	{"shasum", model{options: "-bt -a: --binary --text --algorithm=" + common, kind: files}},
	{"sum", model{options: "-rs --sysv" + common, kind: files}},
	{"cksum", model{options: "--help --version", kind: files, tame: true}},
	{"shuf", model{options: "-erz -n: -i: --echo --repeat --zero-terminated --head-count= --input-range=" + common, kind: files, most: 1}},
	{"lscpu", model{options: "-abcepJxy --all --json --online --offline --help --version", kind: none}},
	{"locale", model{options: "-am", kind: none}},
	{"base64", model{options: "-di -w: --decode --ignore-garbage --wrap=" + common, kind: files, most: 1}},
	{"od", model{options: "-abcdfilosvx -A: -j: -N: -S: -t: -w? --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates --width?" + common, kind: files}},
	{"xxd", model{options: "-abeipuv -c: -g: -l: -s: -o:", kind: files, most: 1, first: true}},
	{"hexdump", model{options: "-bcCdovx -n: -s: -e:", kind: files}},

	{"pwd", model{options: "-LP --logical --physical" + common, kind: none}},
	{"whoami", model{options: "--help --version", kind: none}},
	{"hostname", model{options: "-AdfiIsy --fqdn --short --long --all-fqdns --ip-address --all-ip-addresses --domain", kind: none}},
	{"uname", model{raw: true}},
	{"uptime", model{raw: true}},
	{"id", model{raw: true}},
	{"groups", model{raw: true}},
	{"arch", model{kind: none}},
	{"expr", model{raw: true}},
	{"factor", model{raw: true}},
	{"numfmt", model{raw: true}},
	{"getconf", model{options: "-a", kind: text}},
	{"pgrep", model{options: "-acflnovx -u: -P:", kind: text}},
	{"pidof", model{options: "-sx", kind: text}},
	{"lsof", model{options: "-nPt -i? -p: -u: -c:", kind: text}},
	{"ss", model{options: "-46aehlmnoprstuwx", kind: none}},
	{"lsblk", model{options: "-abdflmpt -o:", kind: none}},
	{"who", model{options: "-abHmqruT" + common, kind: none}},
	{"umask", model{options: "-S", kind: none}},
	{"jobs", model{options: "-lprs", kind: none}},
	{"nproc", model{raw: true}},
	{"tty", model{raw: true}},
	{"ps", model{raw: true}},
	{"free", model{raw: true}},
	{"seq", model{raw: true}},
	{"sleep", model{raw: true}},
	{"printenv", model{raw: true}},
	{"echo", model{raw: true}},
	{"true", model{raw: true}},
	{"false", model{raw: true}},
	{":", model{raw: true}},
	{"basename", model{raw: true}},
	{"dirname", model{raw: true}},
	{"which", model{raw: true}},
	{"whereis", model{options: "-bmsugl", kind: text}},
	{"type", model{raw: true}},
	{"exit", model{raw: true}},
	{"break", model{raw: true}},
	{"continue", model{raw: true}},
}
