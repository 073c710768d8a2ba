# Every public header must refuse a target that is big-endian or has addresses of 32 bits, with a sentence. The
# compiler only pretends to have such a target, because a real one needs its C library. It only preprocesses.
# Called with -DCC=<compiler> -DCXX=<compiler> -DINCLUDE=<folder of situ.h>.
file(GLOB headers RELATIVE ${INCLUDE} ${INCLUDE}/situ.h ${INCLUDE}/situ/*.hpp ${INCLUDE}/situ/protobuf/*.hpp)
set(big_endian -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__)
set(narrow -U__SIZEOF_POINTER__ -D__SIZEOF_POINTER__=4)

# refuses(<sentence> <command>...): the command fails, and this is the first error that it prints.
function(refuses sentence)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed ERROR_VARIABLE words)
  string(REGEX MATCH "error: [^\n]*" first "${words}")
  if(NOT failed OR NOT first MATCHES "${sentence}")
    message(FATAL_ERROR "expected the error `${sentence}`, got `${first}`: ${ARGN}")
  endif()
endfunction()

foreach(header IN LISTS headers)
  set(compile ${CXX} -std=c++20 -E -o /dev/null -I ${INCLUDE} -include ${header} -x c++ /dev/null)
  refuses("needs a little-endian target" ${compile} ${big_endian})
  refuses("needs a target with 64-bit addresses" ${compile} ${narrow})
endforeach()
set(compile ${CC} -std=c11 -E -o /dev/null -I ${INCLUDE} -include situ.h -x c /dev/null)
refuses("needs a little-endian target" ${compile} ${big_endian})
refuses("needs a target with 64-bit addresses" ${compile} ${narrow})
