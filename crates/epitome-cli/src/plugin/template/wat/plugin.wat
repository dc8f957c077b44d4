;; Digests what the tool `TOOL` gives: its ends stay, and every line that tells of a failure.
;;
;; The host writes one line of the protocol into room that `alloc` gives, and `answer` gives back where
;; the answer to it stands: its place in the upper half of the result, its length in the lower one. Each
;; call has a memory of its own, so nothing needs to be freed.
;;
;; Texts are taken as JSON has them, escapes and all: a line of the result ends with `\n` in two letters.
(module
  (memory (export "memory") 4)

  ;; What is said and looked for. A place is a page's; the call stands behind this one.
  (data (i32.const 0)   "{\"hello\":{\"protocol\":1,\"name\":\"NAME\",\"version\":\"0.1.0\",\"features\":[\"digest\"]}}\00")
  (data (i32.const 400) "{\"id\":0,\"error\":\"it only digests\"}\00")
  (data (i32.const 500) "{\"id\":0,\"ok\":null}\00")
  (data (i32.const 600) "{\"id\":0,\"ok\":{\"text\":\"\00")
  (data (i32.const 700) "\",\"kind\":\"NAME\"}}\00")
  (data (i32.const 800) "{\"hello\"\00")
  (data (i32.const 820) "\"digest\":{\00")
  (data (i32.const 840) "\"text\":\"\00")
  (data (i32.const 860) "\"most_bytes\":\00")
  (data (i32.const 900) "\"tool\":\"TOOL\"\00")
  (data (i32.const 1000) "[\e2\80\a6 \00")
  (data (i32.const 1010) " lines]\00")
  (data (i32.const 1020) "\\n\00")
  ;; What tells of a failure, in small letters.
  (data (i32.const 1100) "error\00")
  (data (i32.const 1110) "fail\00")
  (data (i32.const 1120) "fatal\00")
  (data (i32.const 1130) "warn\00")

  (global $ends i32 (i32.const 3))          ;; lines that stay at either end
  (global $longest i32 (i32.const 24))      ;; bytes of the longest note
  (global $begin i32 (i32.const 65536))     ;; where calls stand
  (global $answer (mut i32) (i32.const 0))  ;; where the answer begins
  (global $out (mut i32) (i32.const 0))     ;; where the next piece of it goes

  ;; Room for a call, and behind it for an answer that is no longer.
  (func (export "alloc") (param $len i32) (result i32)
    (local $missing i32)
    (local.set $missing
      (i32.sub
        (i32.shr_u (i32.add (i32.mul (local.get $len) (i32.const 2)) (i32.const 196608)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then (drop (memory.grow (local.get $missing)))))
    (global.set $answer (i32.add (global.get $begin) (local.get $len)))
    (global.get $begin))

  (func (export "answer") (param $at i32) (param $len i32) (result i64)
    (local $end i32)
    (local $text i32)
    (local.set $end (i32.add (local.get $at) (local.get $len)))
    (global.set $out (global.get $answer))
    (if (i32.eq (call $find (local.get $at) (local.get $end) (i32.const 800)) (local.get $at))
      (then (call $put (i32.const 0)) (return (call $said))))
    (if (i32.eqz (call $find (local.get $at) (local.get $end) (i32.const 820)))
      (then (call $put (i32.const 400)) (return (call $said))))
    (if (i32.eqz (call $find (local.get $at) (local.get $end) (i32.const 900)))
      (then (call $put (i32.const 500)) (return (call $said))))
    (local.set $text
      (i32.add (call $find (local.get $at) (local.get $end) (i32.const 840)) (i32.const 8)))
    (call $put (i32.const 600))
    (call $digest (local.get $text) (call $string_end (local.get $text)))
    (call $put (i32.const 700))
    ;; What is too long is no digest.
    (if (i32.gt_u
          (i32.sub (global.get $out) (global.get $answer))
          (call $number
            (i32.add (call $find (local.get $at) (local.get $end) (i32.const 860)) (i32.const 13))))
      (then (global.set $out (global.get $answer)) (call $put (i32.const 500))))
    (call $said))

  ;; Writes the lines that stay.
  (func $digest (param $at i32) (param $end i32)
    (local $line i32) (local $lines i32) (local $next i32) (local $left i32) (local $from i32)
    (local.set $lines (call $count (local.get $at) (local.get $end)))
    (loop $each
      (local.set $next (call $line_end (local.get $at) (local.get $end)))
      (if (i32.or
            (i32.or
              (i32.lt_u (local.get $line) (global.get $ends))
              (i32.ge_u (i32.add (local.get $line) (global.get $ends)) (local.get $lines)))
            (call $fails (local.get $at) (local.get $next)))
        (then
          (call $note (local.get $left) (local.get $from) (local.get $at))
          (local.set $left (i32.const 0))
          (call $copy (local.get $at) (i32.sub (local.get $next) (local.get $at)))
          (if (i32.lt_u (local.get $next) (local.get $end)) (then (call $put (i32.const 1020)))))
        (else
          (if (i32.eqz (local.get $left)) (then (local.set $from (local.get $at))))
          (local.set $left (i32.add (local.get $left) (i32.const 1)))))
      (local.set $line (i32.add (local.get $line) (i32.const 1)))
      ;; Behind the two letters of the line's end.
      (local.set $at (i32.add (local.get $next) (i32.const 2)))
      (br_if $each (i32.lt_u (local.get $at) (local.get $end)))))

  ;; Says that lines left. What is not the result's own stands in brackets, so that the model knows.
  ;; Lines that are shorter than that stay, so an answer is never longer than its call.
  (func $note (param $lines i32) (param $from i32) (param $end i32)
    (local $size i32)
    (local.set $size (i32.sub (local.get $end) (local.get $from)))
    (if (local.get $lines)
      (then
        (if (i32.lt_u (local.get $size) (global.get $longest))
          (then (call $copy (local.get $from) (local.get $size)))
          (else
            (call $put (i32.const 1000))
            (call $put_number (local.get $lines))
            (call $put (i32.const 1010))
            (call $put (i32.const 1020)))))))

  (func $count (param $at i32) (param $end i32) (result i32)
    (local $lines i32)
    (loop $each
      (local.set $lines (i32.add (local.get $lines) (i32.const 1)))
      (local.set $at
        (i32.add (call $line_end (local.get $at) (local.get $end)) (i32.const 2)))
      (br_if $each (i32.lt_u (local.get $at) (local.get $end))))
    (local.get $lines))

  ;; Where a line ends: at `\n`, or with its text.
  (func $line_end (param $at i32) (param $end i32) (result i32)
    (loop $each
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (local.get $end))))
      (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 92))
        (then
          (if (i32.eq (i32.load8_u offset=1 (local.get $at)) (i32.const 110))
            (then (return (local.get $at))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $each))
    (unreachable))

  ;; Where a text ends: at a quote that no backslash stands before.
  (func $string_end (param $at i32) (result i32)
    (local $letter i32)
    (loop $each
      (local.set $letter (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $letter) (i32.const 34)) (then (return (local.get $at))))
      (local.set $at
        (i32.add
          (local.get $at)
          (select (i32.const 2) (i32.const 1) (i32.eq (local.get $letter) (i32.const 92)))))
      (br $each))
    (unreachable))

  ;; Whether a line tells of a failure.
  (func $fails (param $at i32) (param $end i32) (result i32)
    (local $word i32)
    (local.set $word (i32.const 1100))
    (loop $each
      (if (call $find (local.get $at) (local.get $end) (local.get $word))
        (then (return (i32.const 1))))
      (local.set $word (i32.add (local.get $word) (i32.const 10)))
      (br_if $each (i32.lt_u (local.get $word) (i32.const 1140))))
    (i32.const 0))

  ;; The first place of a word, whether its letters are small or large; 0 where it is not.
  (func $find (param $at i32) (param $end i32) (param $word i32) (result i32)
    (local $i i32) (local $wanted i32) (local $letter i32)
    (loop $place
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
      (local.set $i (i32.const 0))
      (block $other
        (loop $each
          (local.set $wanted (i32.load8_u (i32.add (local.get $word) (local.get $i))))
          (if (i32.eqz (local.get $wanted)) (then (return (local.get $at))))
          (br_if $other (i32.ge_u (i32.add (local.get $at) (local.get $i)) (local.get $end)))
          (local.set $letter (i32.load8_u (i32.add (local.get $at) (local.get $i))))
          (if (i32.lt_u (i32.sub (local.get $letter) (i32.const 65)) (i32.const 26))
            (then (local.set $letter (i32.add (local.get $letter) (i32.const 32)))))
          (if (i32.lt_u (i32.sub (local.get $wanted) (i32.const 65)) (i32.const 26))
            (then (local.set $wanted (i32.add (local.get $wanted) (i32.const 32)))))
          (br_if $other (i32.ne (local.get $letter) (local.get $wanted)))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $each)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $place))
    (unreachable))

  ;; The number whose digits stand here.
  (func $number (param $at i32) (result i32)
    (local $number i32) (local $digit i32)
    (loop $each
      (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
      (if (i32.lt_u (local.get $digit) (i32.const 10))
        (then
          (local.set $number
            (i32.add (i32.mul (local.get $number) (i32.const 10)) (local.get $digit)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $each))))
    (local.get $number))

  (func $put_number (param $number i32)
    (if (i32.ge_u (local.get $number) (i32.const 10))
      (then (call $put_number (i32.div_u (local.get $number) (i32.const 10)))))
    (i32.store8
      (global.get $out)
      (i32.add (i32.rem_u (local.get $number) (i32.const 10)) (i32.const 48)))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))

  ;; Writes a piece that ends with a zero.
  (func $put (param $at i32)
    (local $end i32)
    (local.set $end (local.get $at))
    (loop $each
      (if (i32.load8_u (local.get $end))
        (then (local.set $end (i32.add (local.get $end) (i32.const 1))) (br $each))))
    (call $copy (local.get $at) (i32.sub (local.get $end) (local.get $at))))

  (func $copy (param $at i32) (param $len i32)
    (memory.copy (global.get $out) (local.get $at) (local.get $len))
    (global.set $out (i32.add (global.get $out) (local.get $len))))

  ;; What was written, as the host wants it.
  (func $said (result i64)
    (i64.or
      (i64.shl (i64.extend_i32_u (global.get $answer)) (i64.const 32))
      (i64.extend_i32_u (i32.sub (global.get $out) (global.get $answer))))))
