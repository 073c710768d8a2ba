# Compiles SOURCE twice. With SITU_RIGHT defined it must compile. Without it, SOURCE must not compile, and the
# compiler's output must match the source's line `// EXPECT: <regular expression>` and have at most two errors.
set(flags)
foreach(folder IN LISTS INCLUDES)
  list(APPEND flags -I ${folder})
endforeach()
set(compile ${CXX} -std=c++20 -fsyntax-only ${flags} ${SOURCE})

execute_process(COMMAND ${compile} -DSITU_RIGHT RESULT_VARIABLE failed ERROR_VARIABLE words)
if(failed)
  message(FATAL_ERROR "does not compile even when it should:\n${words}")
endif()

file(STRINGS ${SOURCE} expected REGEX "^// EXPECT: ")
string(REPLACE "// EXPECT: " "" expected "${expected}")
execute_process(COMMAND ${compile} RESULT_VARIABLE failed ERROR_VARIABLE words)
if(NOT failed)
  message(FATAL_ERROR "compiles, but must not")
endif()
if(NOT words MATCHES "${expected}")
  message(FATAL_ERROR "the compiler's output does not match `${expected}`:\n${words}")
endif()

# Further errors hide the one that says what is wrong.
string(REGEX MATCHALL "[0-9]: error: " errors "${words}")
list(LENGTH errors count)
if(count GREATER 2)
  message(FATAL_ERROR "${count} errors instead of two at most:\n${words}")
endif()
