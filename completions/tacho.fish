# fish completion for tacho: commands and options come from --help, values from --complete, so that they are always
# those of the tacho that is called.

function __tacho_words
    commandline -opc
end

function __tacho_is_first
    test (count (__tacho_words)) -eq 1
end

function __tacho_commands
    tacho --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { name = $1; $1 = ""; print name "\t" substr($0, 2) }'
end

function __tacho_options
    set -l words (__tacho_words)
    tacho $words[2] --help 2>/dev/null | string match -rg '^ +(?:-[A-Za-z], )?(--[a-z-]+=?)'
end

function __tacho_takes # OPTION...: whether the word before is one of these, or the current one begins with one
    set -l last (__tacho_words)[-1]
    set -l current (commandline -ct)
    for option in $argv
        test "$last" = $option; and return 0
        string match -q -- "$option=*" $current; and return 0
    end
    return 1
end

function __tacho_values # KIND...: behind "--option=" as fish wants it, with the option before
    set -l prefix (string match -r -- '^--[a-z-]+=' (commandline -ct))
    for kind in $argv
        tacho --complete $kind 2>/dev/null | string replace -r '^' -- "$prefix"
    end
end

function __tacho_is_option
    string match -q -- '-*' (commandline -ct)
end

complete -c tacho -n __tacho_is_first -f -a '(__tacho_commands)'
complete -c tacho -n __tacho_is_first -f -a '--help --version'
complete -c tacho -n 'not __tacho_is_first; and __tacho_is_option' -f -a '(__tacho_options)'
complete -c tacho -n 'contains -- (__tacho_words)[2] attach stop; and not __tacho_is_option' -f -a '(__fish_complete_pids)'
complete -c tacho -n '__tacho_takes --what-if -w' -f -a '(__tacho_values what-ifs)'
complete -c tacho -n '__tacho_takes --view -v; and string match -q diff (__tacho_words)[2]' -f -a '(__tacho_values diff-views)'
complete -c tacho -n '__tacho_takes --view -v; and not string match -q diff (__tacho_words)[2]' -f -a '(__tacho_values views)'
complete -c tacho -n '__tacho_takes --to; and string match -q precision (__tacho_words)[2]' -f -a 'table json npy svg'
complete -c tacho -n '__tacho_takes --to; and not string match -q precision (__tacho_words)[2]' -f -a '(__tacho_values exports)'
complete -c tacho -n '__tacho_takes --format' -f -a '(__tacho_values query-formats)'
complete -c tacho -n '__tacho_takes --select --order-by' -f -a '(__tacho_values metrics)'
complete -c tacho -n '__tacho_takes --clock' -f -a 'auto tsc monotonic'
complete -c tacho -n '__tacho_takes --engine' -f -a 'tacho lttng'
complete -c tacho -n '__tacho_takes --counters --kernel-counters' -f -a default
complete -c tacho -n '__tacho_takes --precision' -f -a 'fp32 tf32 bf16 fp16 int8'
complete -c tacho -n '__tacho_takes --probes' -f -a '(__tacho_values probes)'
complete -c tacho -n '__tacho_takes --mean' -f -a 'all present none'
complete -c tacho -n 'test (count (__tacho_words)) -eq 2; and string match -q cost (__tacho_words)[2]' -f -a 'train predict show'
complete -c tacho -n 'test (count (__tacho_words)) -eq 2; and string match -q calibrate (__tacho_words)[2]' -f -a communication
complete -c tacho -n '__tacho_takes --by' -f -a 'table roofline nearest trees'
complete -c tacho -n '__tacho_takes --type' -f -a 'fp32 tf32 fp16 bf16 int8'
