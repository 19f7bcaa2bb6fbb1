# cmake -DOUT=libx.a "-DOWN=a.a;b.a" "-DHELD=c.a;.." "-DTOOLS=ld;nm;objcopy;ar" -P: one archive with one object in it, of all
# of a.a and of what that needs from the others. Names that the libraries HELD define become local to it.
list(GET TOOLS 0 ld)
list(GET TOOLS 1 nm)
list(GET TOOLS 2 objcopy)
list(GET TOOLS 3 ar)
list(POP_FRONT OWN first)
execute_process(COMMAND ${nm} --extern-only --defined-only --format=just-symbols ${HELD} OUTPUT_VARIABLE names ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[^\n]*:\n" "" names "${names}")  # names of files
file(WRITE ${OUT}.names "${names}")
execute_process(COMMAND ${ld} -r -o ${OUT}.o --whole-archive ${first} --no-whole-archive --start-group ${OWN} ${HELD} --end-group COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${objcopy} --strip-debug --localize-symbols=${OUT}.names ${OUT}.o titan-ckpt.o COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${OUT} ${OUT}.o ${OUT}.names)
execute_process(COMMAND ${ar} rcsD ${OUT} titan-ckpt.o COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE titan-ckpt.o)
